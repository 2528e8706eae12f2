"""skrl behind the adapter contract."""
