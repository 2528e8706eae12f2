"""What a person types: one module per verb, each with `run(arguments) -> exit status`."""
