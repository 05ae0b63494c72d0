"""What a person gave cannot work."""


class WrongInput(ValueError):
    """One sentence: what was wrong, where, what to do. `plain_errors` prints it alone."""
