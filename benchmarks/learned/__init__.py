"""The forecaster that learns over Programs: recordings, features, training and evaluation."""
