"""Whole programs of other people's problems: their split, recordings, and how well `program` forecasts them."""
