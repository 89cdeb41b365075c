"""Prices of European options and their sensitivities in closed form."""

import torch
import torch.nn as nn

options = 4194304
spot = 100
TINY = {"options": 6}


class Model(nn.Module):
    def normal(self, x):
        return 0.5 * (1 + torch.erf(x * 0.7071067811865476))

    def forward(self, price, strike, years, rate, volatility):
        root = volatility * torch.sqrt(years)
        d1 = (torch.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
        d2 = d1 - root
        discounted = strike * torch.exp(-rate * years)
        density = torch.exp(-0.5 * d1 * d1) * 0.3989422804014327
        call = price * self.normal(d1) - discounted * self.normal(d2)
        return call, call - price + discounted, self.normal(d1), density / (price * root) * price, density * price


def get_inputs():
    price, strike = spot * (0.5 + torch.rand(options)), spot * (0.5 + torch.rand(options))
    return [price, strike, 0.1 + 2 * torch.rand(options), 0.05 * torch.rand(options), 0.1 + 0.4 * torch.rand(options)]


def get_init_inputs():
    return []
