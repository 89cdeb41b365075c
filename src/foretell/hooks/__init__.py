"""Forecasts and tuning where kernels are already tuned: Triton's autotuner, and any loop that can ask and tell."""
