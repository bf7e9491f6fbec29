"""A `guise run` with folders of its own, for the scripts here."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

package = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(package / "Tests/Fixtures"))
guise = os.environ.get("GUISE_BINARY") or str(package / ".build/release/guise")


class Running:
    def __init__(self, process, environment):
        self.process, self.environment = process, environment

    def ask(self, *words):
        """What `guise WORDS` prints."""
        return subprocess.run(
            [guise, *words], env=self.environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def page(self):
        """The link to the page."""
        return self.ask("page", "--no-open")


@contextlib.contextmanager
def running(*options, masks=()):
    """Starts `guise run` with options and masks, waits until it can be controlled, and ends it."""
    with tempfile.TemporaryDirectory() as scratch:
        names = {"RUNTIME_DIR": "run", "CONFIG_HOME": "config", "STATE_HOME": "state", "DATA_HOME": "data"}
        folders = {f"XDG_{key}": f"{scratch}/{name}" for key, name in names.items()}
        environment = dict(os.environ, HOME=scratch, **folders)
        for name in names.values():
            os.mkdir(f"{scratch}/{name}", 0o700)
        os.mkdir(f"{scratch}/config/guise")
        configuration = {"page": {"port": 0}, "masks": list(masks)}
        pathlib.Path(f"{scratch}/config/guise/config.json").write_text(json.dumps(configuration))
        process = subprocess.Popen([guise, "run", *options], env=environment, stderr=subprocess.DEVNULL)
        try:
            socket = pathlib.Path(f"{scratch}/run/guise/control.sock")
            while not socket.exists():
                if process.poll() is not None:
                    sys.exit(f"guise run {' '.join(options)} ended with code {process.returncode}")
                time.sleep(0.1)
            yield Running(process, environment)
        finally:
            process.terminate()
            process.wait()
