"""The entry point of the program `bert-judge`, also of `python -m bert_judge`."""

import errno
import io
import os
import signal
import sys

# Errors of a stream that cannot be written, and has no file name.
STREAM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main() -> None:
    """Run a command; whatever happens to its streams, there is no traceback."""
    # Until the commands are loaded, Ctrl-C ends the process at once, and not with the traceback of an import.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or PYTHONIOENCODING may lack the characters of an answer.
            stream.reconfigure(errors="backslashreplace")
    from bert_judge.cli import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in STREAM_ERRORS:
            raise
        # What is left in the buffer would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.stderr.write(f"error: the output cannot be written: {error.strerror}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
