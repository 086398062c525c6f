"""Numbers in options: 0.1,0.2, and the input that is held."""

from dynlab.errors import UserError


def numbers(option: str, text: str) -> list[float]:
    """The numbers of an option, or the error that says how they are written."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise UserError(f"{option} takes numbers such as 0.1,0.2; got {text!r}.") from error


def held_input(text: str) -> str | list[float]:
    """What --at says of the input that is held: zero, mean, or its values."""
    if text in ("zero", "mean"):
        return text
    try:
        return numbers("--at", text)
    except UserError as error:
        raise UserError(f"--at takes zero, mean, or numbers such as 0.1,0.2; got {text!r}.") from error
