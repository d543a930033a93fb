"""What a test goes on with."""

from typing import TypeVar

T = TypeVar("T")


def there(value: T | None) -> T:
    """The value, which must be there."""
    assert value is not None
    return value
