"""The task whose robot lies elsewhere, as a module."""


def load_env():
    from .broken import BorrowsItsRobot

    return BorrowsItsRobot
