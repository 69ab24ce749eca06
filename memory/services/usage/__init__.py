"""What calls of models take and cost: a row for each, sums by day, prices, budgets."""
