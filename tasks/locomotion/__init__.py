"""What the tasks of walking towards a far target, `ant` and `humanoid`, share. It is no task by itself."""
