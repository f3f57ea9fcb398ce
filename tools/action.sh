#!/usr/bin/env bash
# The script of action.yml: a suite at the revision BEFORE and at the present one, in a git repository. Its inputs are
# environment variables: SUITE, CONTROL, BEFORE, BUILD, OPTIONS, JUNIT (a file); PULL_REQUEST and GH_TOKEN for the comment. The table is
# appended to GITHUB_STEP_SUMMARY, or printed. Exit status: that of ackclock suite --gate, or
# without a result at BEFORE that of ackclock suite.
set -euo pipefail
: "${SUITE:?}" "${CONTROL:?}" "${BEFORE:?}"
out=$(mktemp -d)
trap 'git worktree remove --force "$out/before" 2>/dev/null || true; rm -rf "$out"' EXIT
read -r -a options <<<"${OPTIONS:-}"

# The results of both revisions have one folder: those of the first are the earlier ones of the gate.
suite() { ackclock suite "$SUITE" --control "$CONTROL" --out "$out/result" "${options[@]}" "$@"; }

git worktree add --quiet --detach "$out/before" "$BEFORE"
status=0
(cd "$out/before" && if [ -n "${BUILD:-}" ]; then bash -c "$BUILD"; fi && suite >"$out/before.txt" 2>&1) || status=$?
gate=(--gate)
if [ "$status" -gt 1 ]; then # 1: demands fail, which is what there is to compare with
    echo "the suite could not be run at $BEFORE (status $status), so there is nothing to compare with:" >&2
    cat "$out/before.txt" >&2
    gate=()
fi
if [ -n "${BUILD:-}" ]; then bash -c "$BUILD"; fi
status=0
suite "${gate[@]}" --markdown "$out/table.md" --junit "${JUNIT:-$out/junit.xml}" || status=$?
if [ -f "$out/table.md" ]; then
    cat "$out/table.md" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
    if [ -n "${PULL_REQUEST:-}" ] && command -v gh >/dev/null; then
        gh pr comment "$PULL_REQUEST" --edit-last --create-if-none --body-file "$out/table.md" || echo "the comment could not be posted" >&2
    fi
fi
exit "$status"
