"""What one page shows: frozen values made from tables, charts and slices, without any markup."""
