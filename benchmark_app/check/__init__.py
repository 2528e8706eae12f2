"""The verb `check`: whether a task keeps what it claims. Light here; engines are started in processes of their own.

A check is a function with a name that says what must hold. It takes what is checked (`Claims`, a `Walk`, a `Live` task,
a pair of robots' files), raises AssertionError with what to do where the task fails it, `unittest.SkipTest` with the
reason where it cannot be judged here, and otherwise returns what was looked at.
"""
