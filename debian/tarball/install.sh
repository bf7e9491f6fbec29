#!/bin/sh
# Installs Guise for one user, without root, and removes it again:
#   ./install.sh --user     copies this folder to ~/.local/lib/guise, and adds the command, launcher, manual and service
#   ./install.sh --remove   removes all of that; your masks and config.json stay
# Guise also runs from this folder without being installed: bin/guise page
set -eu
here=$(cd "$(dirname "$0")" && pwd)
local=$HOME/.local
data=${XDG_DATA_HOME:-$local/share}
target=$local/lib/guise

remove() {
    # The virtual camera goes too, which needs root: nothing could remove it afterwards.
    [ ! -x "$target/bin/guise" ] || "$target/bin/guise" uninstall || true
    case $(readlink "$local/bin/guise" 2>/dev/null) in "$target"/*) rm -f "$local/bin/guise" ;; esac
    rm -rf "$target" "$target.new"
    rm -f "$data/applications/guise.desktop" "$data/icons/hicolor/scalable/apps/guise.svg" \
        "$data/metainfo/guise.metainfo.xml" "$data/man/man1/guise.1" "$data"/man/man1/guise-*.1
    # Folders that are empty now, and that the installation may have made.
    for folder in "$data/applications" "$data/icons/hicolor/scalable/apps" "$data/icons/hicolor/scalable" \
        "$data/icons/hicolor" "$data/icons" "$data/metainfo" "$data/man/man1" "$data/man" "$data" "$local/lib" "$local/bin"
    do rmdir "$folder" 2>/dev/null || true; done
}

case ${1:-} in
--user)
    [ "$(id -u)" != 0 ] || { echo "install.sh: installs for one user: run it as that user, without sudo" >&2; exit 1; }
    if [ -e "$local/bin/guise" ] && [ ! -L "$local/bin/guise" ]; then
        echo "install.sh: $local/bin/guise is another Guise: remove it first (make uninstall)" >&2; exit 1
    fi
    if [ "$here" != "$target" ]; then
        if [ -e "$target" ] && [ ! -x "$target/bin/guise" ]; then
            echo "install.sh: $target exists and is not Guise's: move it away first" >&2; exit 1
        fi
        rm -rf "$target.new" && mkdir -p "$target.new"
        cp -R "$here/." "$target.new/"
        rm -rf "$target" && mv "$target.new" "$target"
    fi
    mkdir -p "$local/bin" "$data/applications" "$data/icons/hicolor/scalable/apps" "$data/metainfo" "$data/man/man1"
    ln -sfn "$target/bin/guise" "$local/bin/guise"
    sed "s|^Exec=guise|Exec=\"$target/bin/guise\"|" "$target/share/applications/guise.desktop" \
        > "$data/applications/guise.desktop"
    cp "$target/share/icons/hicolor/scalable/apps/guise.svg" "$data/icons/hicolor/scalable/apps/"
    cp "$target/share/metainfo/guise.metainfo.xml" "$data/metainfo/"
    cp "$target"/share/man/man1/*.1 "$data/man/man1/"
    "$target/bin/guise" install --no-module
    # A Guise that runs is the one from before.
    systemctl --user try-restart guise.service 2>/dev/null || true
    case ":$PATH:" in *":$local/bin:"*) ;; *) echo "Add $local/bin to your PATH, or log in again." ;; esac
    echo "Installed in $target. For a virtual camera: guise install. Then: guise page" ;;
--remove) remove; echo "Removed. Your masks and config.json stay in ${XDG_CONFIG_HOME:-$HOME/.config}/guise." ;;
*) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 64 ;;
esac
