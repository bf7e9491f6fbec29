#!/usr/bin/env python3
"""Makes pictures without faces, for Benchmarks/verifier.py: negatives.py OUT [PACKAGES]

Writes OUT/<source>/<picture>.png, or <picture>~<part>.png where several are cut from one: parts of a picture are no
independent pictures. Sources are Debian packages, which are downloaded (not installed) to PACKAGES, and generators of
this file: texts, crosswords, number puzzles, boxes, fabrics, noise. Pictures of people, and drawings with
faces (cartoon animals, coins and notes, pumpkins; panels with two knobs over a bar), are left out: whether those are
faces is another question. What is
left was looked through by eye wherever the tracker finds something; NOT_FREE lists what had a face after all.

Nothing here is from a source of the labelled data, so that what is kept back there stays unseen.
Needs apt-get, dpkg, rsvg-convert, and python3 with numpy and pillow. The same calls give the same pictures."""
import glob, io, os, random, re, subprocess, sys, zlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageFilter

WIDTH, HEIGHT = 480, 360
PAGES = 24                       # pictures of each generator
# By eye: photographed and carved faces; and manual pages that show one dialogue again.
NOT_FREE = ("explore-monuments-026", "explore-world-music", "marble-routing-3", "marble-routing-4", "marble-routing-5")

# Package: (files, words in a path that is left out, how it is shown, at most so many pictures).
FILES = {
    "gnome-backgrounds": ("**/backgrounds/**/*.webp", "", "photo", 30),
    "mate-backgrounds": ("**/backgrounds/**/*.[jp][pn]g", "", "photo", 30),
    "plasma-workspace-wallpapers": ("**/images/*.[jp][pn]g", "", "photo", 30),
    "lomiri-wallpapers-16.04": ("**/*.jpg", "", "photo", 30),
    "lomiri-wallpapers-20.04": ("**/*.jpg", "", "photo", 30),
    "ukui-wallpapers": ("**/*.[jp][pn]g", "", "photo", 30),
    "desktop-base": ("**/images/1920x1080.*", "", "photo", 12),
    "palapeli-data": ("**/palapeli/**/*.[jp][pn]g", "", "photo", 20),
    "tuxpaint-stamps-default": ("**/stamps/**/*.png", "people|faces|cartoon|money|halloween|christmas|easter|chess",
                                "thing", 170),
    "openclipart-png": ("**/png/*/**/*.png", "people|animals|holiday|religion|unsorted|special|education|geography|"
                        "duplicates|signs|party|sports|theme|cartoon|toys|games|/art/|actions", "sheet", 40),
    "gimp-data": ("**/patterns/**/*.pat", "", "tiled", 30),
    "krita-data": ("**/patterns/*.pat", "", "tiled", 40),
    "warzone2100-data": ("**/texpages/tertiles*-128/*.png", "", "mosaic", 20),
    "extremetuxracer-data": ("**/etr/terrains/*.png", "", "mosaic", 6),
    "pingus-data": ("**/groundpieces/**/*.png", "", "sheet", 25),
    "neverball-data": ("**/shot-*/*.jpg", "", "photo", 30),
    "kdegames-mahjongg-data-kf5": ("**/tilesets/*.svgz", "", "photo", 8),
    "gcompris-qt-data": ("carved/*", "paintings|babyshapes|details|hangman|lang", "photo", 130),
    "marble-data": ("**/HTML/en/marble/*.png", "", "photo", 20),
    "kstars-data": ("**/kstars/textures/*.png", "moon", "thing", 14),
}
FONTS = {"Arabic": 0x627, "Devanagari": 0x905, "Hebrew": 0x5d0, "Thai": 0xe01, "Tamil": 0xb85, "Georgian": 0x10d0,
         "Armenian": 0x561, "Bengali": 0x985, "Khmer": 0x1780, "Ethiopic": 0x1200, "Sinhala": 0xd85, "Cherokee": 0x13a0}


def packages(folder):
    os.makedirs(folder, exist_ok=True)
    for name in [*FILES, "fonts-noto-core", "fonts-dejavu-core"]:
        to = os.path.join(folder, name)
        if os.path.isdir(to):
            continue
        subprocess.run(["apt-get", "download", "-qq", name], cwd=folder, check=True, stderr=subprocess.DEVNULL)
        deb = glob.glob(os.path.join(folder, name + "_*.deb"))[0]
        subprocess.run(["dpkg", "-x", deb, to], check=True)
        carve(to)


def carve(folder):
    """Takes pictures out of archives: zip by its own tool, Qt's resources by the pictures' first bytes."""
    import zipfile
    for path in glob.glob(folder + "/**/base.wz", recursive=True):
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder + "/zip", [n for n in archive.namelist() if n.endswith((".png", ".jpg"))])
    start = re.compile(rb"RIFF....WEBP|\xff\xd8\xff[\xe0\xe1\xdb]|\x89PNG\r\n\x1a\n", re.S)
    for path in sorted(glob.glob(folder + "/**/*.rcc", recursive=True)):
        data, at, count = open(path, "rb").read(), 0, 0
        while found := start.search(data, at):
            begin = found.start()
            length = int.from_bytes(data[begin - 4:begin], "big")        # precedes each file
            at = begin + (length if 0 < length <= len(data) - begin else 8)
            if at - begin > 5000:                                       # smaller ones are icons
                os.makedirs(folder + "/carved", exist_ok=True)
                name = os.path.basename(path)[:-4]
                open(f"{folder}/carved/{name}_{count:03d}", "wb").write(data[begin:at])
                count += 1


def load(path):
    if path.endswith((".svg", ".svgz")):
        png = subprocess.run(["rsvg-convert", "-w", "900", path], check=True, capture_output=True).stdout
        return Image.open(io.BytesIO(png)).convert("RGBA")
    if path.endswith(".pat"):                                           # GIMP's: header, then rows of samples
        data = open(path, "rb").read()
        size, _, width, height, depth = np.frombuffer(data[:20], ">u4").tolist()
        rows = np.frombuffer(data[size:size + width * height * depth], "u1").reshape(height, width, depth)
        return Image.fromarray(rows[..., 0] if depth < 3 else np.ascontiguousarray(rows[..., :3])).convert("RGBA")
    picture = Image.open(path)
    picture.seek(0)
    return picture.convert("RGBA")


def flat(picture, rng):
    """Over a plain or a shaded ground."""
    a, b = rng.integers(20, 250, 2)
    ground = np.linspace(a, b if rng.random() < 0.6 else a, picture.height)[:, None].repeat(picture.width, 1)
    ground = Image.fromarray(ground.astype("u1")).convert("RGBA")
    return Image.alpha_composite(ground, picture).convert("L")


def fit(picture, width, height):
    scale = min(width / picture.width, height / picture.height)
    return picture.resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))), Image.LANCZOS)


def from_package(source, folder, save):
    pattern, without, way, most = FILES[source]
    paths = sorted(p for p in glob.glob(os.path.join(folder, source, pattern), recursive=True)
                   if os.path.isfile(p) and os.path.getsize(p) > (400 if way in ("tiled", "mosaic") else 5000)
                   and not (without and re.search(without, p)))
    rng = np.random.default_rng(zlib.crc32(source.encode()))
    rng.shuffle(paths)

    def name(path):
        inside = os.path.relpath(path, os.path.join(folder, source)).rsplit(".", 1)[0]
        return re.sub(r"[^A-Za-z0-9]+", "-", inside)[-60:].strip("-")

    if way == "mosaic":                                                 # textures side by side, as on a game's floor
        tiles = [load(p).resize((128, 128)) for p in paths]
        for n in range(most):
            sheet = Image.new("RGBA", (512, 384))
            for i in range(12):
                sheet.paste(tiles[(12 * n + i) % len(tiles)], (i % 4 * 128, i // 4 * 128))
            save(source, f"floor{n:02d}", flat(sheet, rng))
        return
    if way == "sheet":                                                  # many small ones, as on wrapping paper
        for n in range(most):
            sheet = Image.new("RGBA", (WIDTH, HEIGHT))
            across = int(rng.integers(2, 5))
            for i in range(across * across):
                small = fit(load(paths[(n * 16 + i) % len(paths)]), WIDTH // across - 8, HEIGHT // across - 8)
                sheet.alpha_composite(small, (i % across * WIDTH // across + 4, i // across * HEIGHT // across + 4))
            save(source, f"sheet{n:02d}", flat(sheet, rng))
        return
    for path in paths[:most]:
        try:
            picture = load(path)
        except Exception:
            continue
        if way == "tiled":
            sheet = Image.new("RGBA", (WIDTH, HEIGHT))
            for x in range(0, WIDTH, picture.width):
                for y in range(0, HEIGHT, picture.height):
                    sheet.paste(picture, (x, y))
            save(source, name(path), flat(sheet, rng))
        elif way == "thing":
            sheet = Image.new("RGBA", (WIDTH, HEIGHT))
            small = fit(picture, *rng.integers(220, 340, 1).repeat(2).tolist())
            sheet.alpha_composite(small, (int(rng.integers(0, WIDTH - small.width)),
                                          int(rng.integers(0, HEIGHT - small.height))))
            save(source, name(path), flat(sheet, rng))
        else:
            whole = fit(picture, 560, 420)
            save(source, name(path) + "~whole", flat(whole, rng))
            if picture.width > 1000 and picture.height > 700:           # and a detail, half or a quarter as wide
                part = int(picture.width / rng.choice([2, 4]))
                x, y = rng.integers(0, picture.width - part), rng.integers(0, picture.height - part * 3 // 4)
                crop = picture.crop((x, y, x + part, y + part * 3 // 4))
                save(source, name(path) + "~part", flat(fit(crop, WIDTH, HEIGHT), rng))


def font(rng, size, folder, script=None):
    names = sorted(glob.glob(folder + "/fonts-dejavu-core/**/*.ttf", recursive=True))
    if script:
        names = sorted(glob.glob(folder + f"/fonts-noto-core/**/Noto*{script}-Regular.ttf", recursive=True))
    return ImageFont.truetype(names[int(rng.integers(len(names)))], size)


def words(rng, script, count):
    first = FONTS.get(script)
    letter = (lambda: chr(first + int(rng.integers(22)))) if first else (lambda: chr(97 + int(rng.integers(26))))
    return " ".join("".join(letter() for _ in range(int(rng.integers(2, 9)))) for _ in range(count))


def text(rng, folder):
    script = rng.choice([None, None, *FONTS])
    size = int(rng.integers(9, 46))
    page = Image.new("L", (WIDTH, HEIGHT), int(rng.integers(200, 255)))
    draw, face = ImageDraw.Draw(page), font(rng, size, folder, script)
    columns = int(rng.integers(1, 4))
    for c in range(columns):
        for y in range(8, HEIGHT - size, int(size * 1.35)):
            line = words(rng, script, 12)
            line = line[: int(WIDTH / columns / size * 1.7)]
            draw.text((c * WIDTH // columns + 8, y), line, int(rng.integers(0, 90)), face)
    return page


def crossword(rng, folder):
    n = int(rng.integers(6, 16))
    side = HEIGHT // n
    page = Image.new("L", (WIDTH, HEIGHT), int(rng.integers(170, 255)))
    draw, small = ImageDraw.Draw(page), font(rng, max(7, side // 4), folder)
    large = font(rng, max(8, side * 2 // 3), folder)
    for i in range(n):
        for j in range(n):
            x, y = 40 + i * side, j * side
            black = rng.random() < 0.2
            draw.rectangle((x, y, x + side, y + side), 20 if black else 245, 20)
            if not black and rng.random() < 0.4:
                draw.text((x + 2, y + 1), str(int(rng.integers(1, 60))), 20, small)
            if not black and rng.random() < 0.5:
                draw.text((x + side // 4, y + side // 5), chr(65 + int(rng.integers(26))), 30, large)
    return page


def puzzle(rng, folder):
    """A sliding puzzle, or a grid of digits as in a sudoku or a calendar."""
    n = int(rng.integers(3, 8))
    side = (HEIGHT - 20) // n
    ground, tile = rng.integers(20, 120), rng.integers(130, 250)
    page = Image.new("L", (WIDTH, HEIGHT), int(ground))
    draw, face = ImageDraw.Draw(page), font(rng, int(side * rng.uniform(0.4, 0.75)), folder)
    numbers = rng.permutation(n * n)
    gap, edge = int(rng.integers(1, max(2, side // 8))), int(rng.integers(0, 8))
    for k, number in enumerate(numbers):
        if number == 0 or n > 5 and rng.random() < 0.4:
            continue
        x, y = 60 + k % n * side, 10 + k // n * side
        draw.rounded_rectangle((x + gap, y + gap, x + side - gap, y + side - gap), edge, int(tile), 10)
        shown = str(number if n <= 5 else number % 10)
        draw.text((x + side / 2, y + side / 2), shown, int(ground) // 2, face, anchor="mm")
    return page.rotate(float(rng.normal(0, 6)), Image.BICUBIC, fillcolor=int(ground))


def cover(rng, folder):
    """What a box or a book shows: bands, a picture's worth of shapes, a title, a code."""
    w, h = 240, 320
    page = Image.new("L", (w, h), int(rng.integers(30, 240)))
    draw = ImageDraw.Draw(page)
    for _ in range(int(rng.integers(3, 12))):
        x, y = rng.integers(0, w), rng.integers(0, h)
        a, b = rng.integers(10, 120, 2)
        shape = rng.choice([draw.ellipse, draw.rectangle])
        shape((int(x - a), int(y - b), int(x + a), int(y + b)), int(rng.integers(10, 250)), int(rng.integers(0, 255)))
    for _ in range(int(rng.integers(1, 4))):
        draw.text((10, int(rng.integers(0, h - 50))), words(rng, None, 3)[:14].title(), int(rng.choice([5, 250])),
                  font(rng, int(rng.integers(16, 44)), folder))
    x = 20
    while x < 90:
        bar = int(rng.integers(1, 4))
        draw.rectangle((x, h - 40, x + bar, h - 12), 10)
        x += bar + int(rng.integers(1, 4))
    return page


def warp(picture, corners):
    """Perspective: the picture's corners go to these places."""
    w, h = picture.size
    rows = []
    for (x, y), (u, v) in zip(corners, [(0, 0), (w, 0), (w, h), (0, h)]):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    aim = [v for uv in [(0, 0), (w, 0), (w, h), (0, h)] for v in uv]
    map8 = np.linalg.solve(np.array(rows, float), np.array(aim, float))
    shown = picture.transform((WIDTH, HEIGHT), Image.PERSPECTIVE, map8, Image.BICUBIC)
    return shown, Image.new("L", (w, h), 255).transform((WIDTH, HEIGHT), Image.PERSPECTIVE, map8)


def boxes(rng, folder):
    page = noise(rng, folder) if rng.random() < 0.5 else Image.new("L", (WIDTH, HEIGHT), int(rng.integers(20, 240)))
    for _ in range(int(rng.integers(1, 5))):
        x, y, w, h = (int(rng.integers(*r)) for r in ((0, 360), (20, 220), (60, 200), (80, 220)))
        d, lift = int(rng.integers(15, 90)), int(rng.integers(-40, 40))
        front = [(x, y), (x + w, y + lift // 3), (x + w, y + h), (x, y + h - lift // 4)]
        side = [front[1], (x + w + d, y - lift), (x + w + d, y + h - abs(lift)), front[2]]
        for corners, light in ((front, 1.0), (side, 0.6)):
            art = cover(rng, folder).point(lambda v: int(v * light))
            shown, where = warp(art, corners)
            page.paste(shown, (0, 0), where)
    return page


def noise(rng, folder):
    """Sums of smooth noise of several sizes, as on stone, clouds, foliage."""
    total = np.zeros((HEIGHT, WIDTH))
    fall = rng.uniform(0.4, 1.1)
    for octave in range(1, 8):
        n = 2 ** octave
        grid = rng.normal(size=(n * 3 // 4 + 2, n + 2)).astype("f4")
        total += np.asarray(Image.fromarray(grid).resize((WIDTH, HEIGHT), Image.BICUBIC)) * fall ** octave
    if rng.random() < 0.3:
        total = np.abs(total)
    total = (total - total.min()) / np.ptp(total)
    return Image.fromarray((total * rng.uniform(120, 255)).astype("u1"))


def fabric(rng, folder):
    """Checks, tartans, stripes, dots, knit."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    kind, p = rng.integers(5), rng.uniform(8, 60)
    if kind == 0:
        cloth = (np.floor(x / p) + np.floor(y / p)) % 2
    elif kind == 1:
        bands = rng.random(12)
        cloth = bands[(x / p * 3).astype(int) % 12] + bands[(y / p * 3).astype(int) % 12]
    elif kind == 2:
        cloth = np.sin(2 * np.pi * (x * rng.normal() + y * rng.normal()) / p) > rng.uniform(-0.7, 0.7)
    elif kind == 3:
        cloth = np.hypot(x % p - p / 2 + (np.floor(y / p) % 2), y % p - p / 2) < p * rng.uniform(0.15, 0.45)
    else:
        cloth = np.cos(2 * np.pi * x / p) * np.sin(2 * np.pi * (y + np.abs(x % p - p / 2)) / p * 1.5)
    cloth = cloth.astype(float) + rng.normal(size=cloth.shape) * 0.1
    cloth = (cloth - cloth.min()) / np.ptp(cloth) * rng.uniform(80, 235)
    page = Image.fromarray(cloth.astype("u1")).rotate(float(rng.uniform(-30, 30)), Image.BICUBIC, fillcolor=90)
    return page.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.3, 1.5))))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out, folder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(sys.argv[1], ".packages")
    packages(folder)
    count = {}

    def save(source, name, picture):
        if any(part in name for part in NOT_FREE):
            return
        os.makedirs(os.path.join(out, source), exist_ok=True)
        picture.convert("L").save(os.path.join(out, source, name + ".png"))
        count[source] = count.get(source, 0) + 1

    for source in FILES:
        from_package(source, folder, save)
    for make in (text, crossword, puzzle, boxes, noise, fabric):
        for n in range(PAGES):
            rng = np.random.default_rng([n, zlib.crc32(make.__name__.encode())])
            picture = make(rng, folder)
            # A camera's noise and softness: drawn edges are sharper than any photo's.
            if rng.random() < 0.7:
                soft = np.asarray(picture.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.4, 1.2)))), float)
                picture = Image.fromarray(np.clip(soft + rng.normal(0, 3, soft.shape), 0, 255).astype("u1"))
            save("made " + make.__name__, f"{n:02d}", picture)
    for source, n in count.items():
        print(f"{source:32s}{n:5d}")
    print(f"{'all':32s}{sum(count.values()):5d}")


main()
