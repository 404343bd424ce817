"""Small servers on Python SDKs, as their users write them, for ci/findings: what is seen here comes from the SDK.

peer.py KIND http PORT | peer.py KIND stdio, where KIND is fastmcp, mcp (its MCPServer) or mcp-low-level. rmcp/ has the
same tools.
"""

import sys

from mcp.types import ToolAnnotations

READS = ToolAnnotations(readOnlyHint=True)


def add_tools(server, context):
    """add, slow, fail, as functions: their schemas are made by the SDK."""

    @server.tool(annotations=READS)
    def add(a: int, b: int) -> int:
        "Adds two numbers"
        return a + b

    async def slow(ctx) -> str:
        for step in range(1, 4):
            await ctx.report_progress(step, 3)
        return "done"

    slow.__annotations__["ctx"] = context
    server.tool(annotations=READS, description="Tells its progress")(slow)

    @server.tool(annotations=READS)
    def fail() -> str:
        "Fails"
        raise ValueError("broken")


def fastmcp(transport, port):
    from fastmcp import Context, FastMCP

    server = FastMCP("peer")
    add_tools(server, Context)
    if transport == "http":
        server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
    else:
        server.run(show_banner=False)


def mcp(transport, port):
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    server = MCPServer("peer")
    add_tools(server, Context)
    if transport == "http":
        server.run("streamable-http", port=port)
    else:
        server.run()


def low_level(transport, port):
    import anyio
    import uvicorn
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError

    numbers = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
    nothing = {"type": "object", "additionalProperties": False}
    tools = [
        types.Tool(name="add", description="Adds two numbers", input_schema=numbers, annotations=READS),
        types.Tool(name="fail", description="Fails", input_schema=nothing, annotations=READS),
    ]

    async def list_tools(context, params):
        return types.ListToolsResult(tools=tools)

    async def call_tool(context, params):
        if params.name == "add":
            given = params.arguments or {}
            text, failed = str(given.get("a", 0) + given.get("b", 0)), False
        elif params.name == "fail":
            text, failed = "broken", True
        else:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}")
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=failed)

    server = Server("peer", version="1", on_list_tools=list_tools, on_call_tool=call_tool)

    async def serve():
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    if transport == "http":
        uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
    else:
        anyio.run(serve)


if __name__ == "__main__":
    kind, transport, *rest = sys.argv[1:]
    {"fastmcp": fastmcp, "mcp": mcp, "mcp-low-level": low_level}[kind](transport, int(rest[0]) if rest else 0)
