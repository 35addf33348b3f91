#!/bin/sh
# web/check.sh: is the committed page the one that these sources give?
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci --silent
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
node build.mjs "$fresh"
if cmp -s "$fresh" page.html; then
    echo "web/page.html is up to date"
else
    echo "web/page.html is not what web/ builds: run 'npm run build' in web/ and commit the result" >&2
    exit 1
fi
