# A small MCP server that tests start by the thousand: `sh tiny-server.sh TAG [stubborn]`.
[ "$2" = stubborn ] && trap '' INT TERM HUP
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case $line in
    *'"method":"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}}' ;;
    *'"method":"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"one","inputSchema":{"type":"object"}}]}}' ;;
    *'"method":"tools/call"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"done"}]}}' ;;
    *'"id":'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"unknown"}}' ;;
  esac
done
while [ "$2" = stubborn ]; do sleep 1; done
