"""Judging forecasters on recorded measurements: pools of candidates, figures of merit, and controls to beat."""
