"""Predict and update of many small Kalman filters with position measurements, written out for two states."""

import torch
import torch.nn as nn

tracks = 262144
axes = 3
TINY = {"tracks": 4, "axes": 2}


class Model(nn.Module):
    def __init__(self, step, noise, error):
        super().__init__()
        self.step, self.noise, self.error = step, noise, error

    def forward(self, x, v, pxx, pxv, pvv, z):
        dt, q = self.step, self.noise
        x = x + dt * v
        pxx = pxx + 2 * dt * pxv + dt * dt * pvv + q * dt**4 / 4
        pxv = pxv + dt * pvv + q * dt**3 / 2
        pvv = pvv + q * dt * dt
        gain = 1 / (pxx + self.error)
        kx, kv, miss = pxx * gain, pxv * gain, z - x
        return x + kx * miss, v + kv * miss, (1 - kx) * pxx, (1 - kx) * pxv, pvv - kv * pxv


def get_inputs():
    states = [torch.randn(tracks, axes) for _ in range(2)]
    covariance = [1 + torch.rand(tracks, axes), 0.2 * torch.rand(tracks, axes), 1 + torch.rand(tracks, axes)]
    return [*states, *covariance, torch.randn(tracks, axes)]


def get_init_inputs():
    return [0.5, 0.3, 0.4]
