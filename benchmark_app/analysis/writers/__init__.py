"""A comparison as text: for a terminal, a pull request, a program, a CI system."""
