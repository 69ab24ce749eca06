"""Accounts for calls of models: a row for each, sums by day, prices and budgets."""
