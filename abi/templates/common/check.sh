# SPDX-License-Identifier: Apache-2.0
# Checks a build of the module: the rules of the ABI, then one claim on an embedded node. Usage: sh check.sh LIBRARY
# Writes report.xml, which CI systems show as tests.
set -eu
cards=$(mktemp -d)
trap 'rm -rf "$cards"' EXIT
echo ok > "$cards/card0"
cagectl module check "$1" --option device_dir="$cards" --only-failed --junit report.xml
cagectl module run "$1" --name @NAME@ --option device_dir="$cards" --once
