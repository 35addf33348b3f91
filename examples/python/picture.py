"""A canvas that becomes a PNG file: rectangles, lines, small grey images and text of 3 by 5 dots. The demo draws with it."""

import struct
import zlib

# Five rows of three dots, each row as an octal digit. Small letters look like capitals.
FONT = {
    "0": "75557", "1": "26227", "2": "71747", "3": "71717", "4": "55711", "5": "74717", "6": "74757", "7": "71244", "8": "75757",
    "9": "75717", "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644", "Q": "25563",
    "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255", "Y": "55222", "Z": "71247",
    ".": "00002", ",": "00024", ":": "02020", "%": "51245", "-": "00700", "/": "11244", " ": "00000", "=": "07070",
}  # fmt: skip


class Canvas:
    def __init__(self, width, height, colour=(255, 255, 255)):
        self.width, self.height = width, height
        self.pixels = bytearray(bytes(colour) * (width * height))

    def rectangle(self, left, top, width, height, colour):
        left, right = max(0, left), min(self.width, left + width)
        for y in range(max(0, top), min(self.height, top + height)):
            start = 3 * (y * self.width + left)
            self.pixels[start : start + 3 * (right - left)] = bytes(colour) * max(0, right - left)

    def line(self, x0, y0, x1, y1, colour, thickness=1):
        steps = max(abs(round(x1 - x0)), abs(round(y1 - y0)), 1)
        for i in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * i / steps), round(y0 + (y1 - y0) * i / steps)
            self.rectangle(x - thickness // 2, y - thickness // 2, thickness, thickness, colour)

    def image(self, left, top, rows, scale):
        """Grey values 0 (paper) to 255 (ink), each as a square of `scale` pixels."""
        for y, row in enumerate(rows):
            for x, ink in enumerate(row):
                self.rectangle(left + x * scale, top + y * scale, scale, scale, (255 - ink,) * 3)

    def text(self, left, top, text, colour=(40, 40, 40), scale=2):
        for letter in text.upper():
            for y, row in enumerate(FONT[letter]):
                for x in range(3):
                    if int(row, 8) >> (2 - x) & 1:
                        self.rectangle(left + x * scale, top + y * scale, scale, scale, colour)
            left += 4 * scale

    def save(self, path):
        rows = (self.pixels[3 * y * self.width : 3 * (y + 1) * self.width] for y in range(self.height))
        header = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)  # 8 bits, RGB, not interlaced
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 9)), (b"IEND", b"")):
                file.write(struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content)))
