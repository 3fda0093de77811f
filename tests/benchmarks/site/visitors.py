"""Visitors of a page, in a separate process, which prints the number of answers.

Called as `python visitors.py PORT PATH COUNT SECONDS KEEPS`. With KEEPS = 1 a visitor asks if the page has changed.
"""

import http.client
import sys
import time
from concurrent.futures import ThreadPoolExecutor


def visit(port: int, path: str, keeps: bool, until: float) -> int:
    """One visitor with one connection, until the time is over."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    etag, answers = "", 0
    while time.monotonic() < until:
        connection.request("GET", path, headers={"If-None-Match": etag} if keeps and etag else {})
        response = connection.getresponse()
        response.read()
        if response.status not in (200, 304):
            raise RuntimeError(f"{path} answered {response.status}")
        etag = response.headers["ETag"]
        answers += 1
    connection.close()
    return answers


def main(port: int, path: str, count: int, seconds: float, keeps: bool) -> None:
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(count) as pool:
        print(sum(pool.map(lambda _: visit(port, path, keeps, until), range(count))))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5] == "1")
