class _Line:
    value: object

class _Card:
    email: _Line

def readOne(stream: str, *, allowQP: bool = ...) -> _Card: ...  # noqa: N802, N803 - its names
