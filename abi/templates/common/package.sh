# SPDX-License-Identifier: Apache-2.0
# Makes a Debian package of a build, for nodes without the chart. Usage: sh package.sh LIBRARY VERSION
# Needs only dpkg-deb. The daemon finds the file in /usr/lib/cardcage/modules.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
chmod 755 "$tree"
install -D -m 644 "$1" "$tree/usr/lib/cardcage/modules/libcardcage_@IDENT@.so"
mkdir "$tree/DEBIAN"
cat > "$tree/DEBIAN/control" << CONTROL
Package: cardcage-module-@NAME@
Version: $2
Architecture: $(dpkg --print-architecture)
Maintainer: Example <packages@example.com>
Depends: cardcage
Description: module of Cardcage for @NAME@
CONTROL
dpkg-deb --root-owner-group --build "$tree" "cardcage-module-@NAME@_$2.deb"
