#!/usr/bin/env bash
# Formatting of every source file, then clang-tidy on the .cpp files that differ from main's last common commit or are
# new (ALL=1: on every one). clang-tidy reads build/release/compile_commands.json: build first.
set -euo pipefail
cd "$(dirname "$0")/.."

sources() { git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

if [ "${1:-}" = --format ]; then
    sources '*.cpp' '*.h' | xargs -r clang-format -i
    exit
fi

echo "lint: clang-format"
sources '*.cpp' '*.h' | xargs -r clang-format --dry-run -Werror

if [ -n "${ALL:-}" ]; then
    files=$(sources 'src/*.cpp')
else
    base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main)
    files=$({ git diff --name-only --diff-filter=d "$base" -- 'src/*.cpp'; git ls-files --others --exclude-standard -- 'src/*.cpp'; } | sort -u)
fi
[ -n "$files" ] || { echo "lint: no changed file for clang-tidy (ALL=1 takes every file)"; exit 0; }
echo "lint: clang-tidy on $(wc -l <<<"$files") file(s)"
xargs -n 1 -P "${JOBS:-2}" clang-tidy --quiet -p build/release <<<"$files" 2> >(grep -v 'warnings\? generated' >&2)
