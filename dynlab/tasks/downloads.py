"""Downloads into dynlab's cache, checked; one that was cut off goes on where it was."""

import logging
import time
import warnings
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from dynlab.errors import UserError

with warnings.catch_warnings():
    # pooch imports tqdm, which warns in a notebook without ipywidgets of a progress bar that is not asked for here
    warnings.filterwarnings("ignore", message="IProgress not found")
    import pooch

CHUNK = 1 << 20  # bytes written at a time
TIMEOUT = 30  # seconds without an answer
MEGABYTE = 1e6  # bytes
TOLD_EVERY = 5  # seconds after which it is said how far a download is


def cache() -> Path:
    """The folder of dynlab's downloads."""
    return Path(pooch.os_cache("dynlab"))


def fetch(title: str, address: str, checksum: str, path: Path, by_hand: str) -> None:
    """Download `address` to `path`, held against `checksum` (``md5:…`` or ``sha256:…``).

    What came before a break lies beside it in a file ``….part`` and is not fetched anew.

    Raises
    ------
    UserError
        "`title` could not be downloaded …: start again, or `by_hand`."
    """
    part = path.with_name(f"{path.name}.part")

    def resume(url: str, output_file: str, _: object) -> None:
        _continue(url, part)
        part.replace(output_file)

    logging.getLogger(__name__).info("downloading %s", address)
    try:
        pooch.retrieve(address, known_hash=checksum, fname=path.name, path=path.parent, downloader=resume)
    except (OSError, ValueError) as error:  # requests' own errors are OSErrors; a wrong checksum is a ValueError
        raise UserError(f"{title} could not be downloaded ({_reason(error)}): start again, or {by_hand}.") from error


def _reason(error: Exception) -> str:
    """Why a download failed, in a few words: requests' own sentences hold every layer below them."""
    import requests

    match error:
        case requests.HTTPError(response=answer) if answer is not None:
            return f"the server answered {answer.status_code} {answer.reason}"
        case requests.Timeout():
            return f"no answer for {TIMEOUT} s"
        case requests.exceptions.ChunkedEncodingError():
            return "the connection broke off"
        case requests.ConnectionError(request=asked) if asked is not None:
            return f"no connection to {urlsplit(str(asked.url)).hostname}"
        case ValueError() if "hash" in str(error):  # pooch's, of a wrong checksum
            return "what came is not the file that was published: another checksum"
    return str(error)


def _continue(url: str, part: Path) -> None:
    """Get what `part` lacks of the file at `url`."""
    import requests

    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with closing(requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)) as answer:
        if have and answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # all of it is there
        answer.raise_for_status()
        goes_on = answer.status_code == requests.codes.partial_content
        whole = int(answer.headers.get("Content-Length", 0)) + (have if goes_on else 0)
        told = time.monotonic()
        with part.open("ab" if goes_on else "wb") as file:
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
                if time.monotonic() - told >= TOLD_EVERY:
                    told = time.monotonic()
                    pooch.get_logger().info("%s: %.0f of %.0f MB", part.stem, file.tell() / MEGABYTE, whole / MEGABYTE)
