#!/usr/bin/env python3
"""Uses one of our servers through the official Python SDK (`mcp`), once in each era.

Lists the tools over all pages, calls `echo` and `sensor_read`, and prints what came back. Exits 0 when every answer is the
contract's (fixtures/contract), 1 with a line that says what was wrong, 2 on a wrong command line. Installs nothing.

    independent-client.py http://127.0.0.1:8000/mcp
    independent-client.py stdio COMMAND [ARGUMENT...]
"""

import asyncio
import sys

from mcp import Client, MCPError, StdioServerParameters

TOOLS = [
    "device_info", "device_stats", "echo", "sensor_list",
    "sensor_read", "led_set", "led_get", "uptime",
    "log_tail", "job_start", "job_get", "job_list",
    "job_stop", "job_stop_all",
]  # fmt: skip
# How the client opens, and the revision that must come of it: `auto` asks server/discover first.
OPENINGS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
DEADLINE_S = 20
MOST_PAGES = 20


class Surprise(Exception):
    """The server answered otherwise than the contract says."""


def expect(what, got, wanted):
    if got != wanted:
        raise Surprise(f"{what}: got {got!r}, expected {wanted!r}")


async def list_tools(client):
    names, pages, cursor = [], 0, None
    while True:
        page = await client.list_tools(cursor=cursor)
        pages += 1
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names, pages
        if pages == MOST_PAGES:
            raise Surprise(f"tools/list does not end: {MOST_PAGES} pages and another cursor {cursor!r}")


async def use(server, mode):
    revision = OPENINGS[mode]
    async with Client(server, mode=mode, read_timeout_seconds=DEADLINE_S) as client:
        expect("revision", client.protocol_version, revision)
        print(f"{revision}: connected to {client.server_info.name} {client.server_info.version}")

        names, pages = await list_tools(client)
        expect("tools", names, TOOLS)
        expect("pages of tools", pages, 4)
        print(f"{revision}: tools/list gave {len(names)} tools on {pages} pages: {' '.join(names)}")

        text = "Grüße, 世界 🌍"
        echo = await client.call_tool("echo", {"text": text})
        expect("echo", (echo.is_error or False, [part.text for part in echo.content]), (False, [text]))
        print(f"{revision}: echo gave back {text!r}")

        # The SDK itself holds structured content against the tool's outputSchema.
        read = await client.call_tool("sensor_read", {"channel": "temperature"})
        expect("sensor_read isError", read.is_error or False, False)
        reading = dict(read.structured_content)
        value = reading.pop("value", None)
        expect("sensor_read", reading, {"channel": "temperature", "unit": "celsius"})
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Surprise(f"sensor_read: value is {value!r}, expected a number")
        print(f"{revision}: sensor_read gave {read.structured_content}")

        absent = await client.call_tool("sensor_read", {"channel": "humidity"})
        reason = "sensor humidity is not fitted on this board; sensor_list tells which are"
        expect("sensor_read humidity", (absent.is_error, [part.text for part in absent.content]), (True, [reason]))
        print(f"{revision}: sensor_read of humidity failed as it must: {reason}")

        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            expect("code of an unknown tool", error.code, -32602)
            print(f"{revision}: no_such_tool was refused with {error.code}")
        else:
            raise Surprise("no_such_tool was called, expected the error -32602")


def causes(error):
    """The errors within a group of them, in one line."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(causes(inner) for inner in error.exceptions)
    return str(error) if isinstance(error, Surprise) else f"{type(error).__name__}: {error}"


def main(arguments):
    match arguments:
        case [url] if url.startswith(("http://", "https://")):
            server = url
        case ["stdio", command, *rest]:
            server = StdioServerParameters(command=command, args=rest)
        case _:
            print(__doc__.strip(), file=sys.stderr)
            return 2
    for mode, revision in OPENINGS.items():
        try:
            asyncio.run(asyncio.wait_for(use(server, mode), DEADLINE_S))
        except TimeoutError:
            print(f"{revision}: FAILED: no end within {DEADLINE_S} s", file=sys.stderr)
            return 1
        except Exception as error:  # whatever it is, the run was not as expected
            print(f"{revision}: FAILED: {causes(error)}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
