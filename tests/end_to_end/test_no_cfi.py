"""Code without unwind data: assembler code of Debian's libraries at work, whose
callers are guessed from the code itself."""

import math
import os
import random
import subprocess

import harness
import pprof_decode

WIDTH, HEIGHT, FRAMES = 352, 288, 12


def write_video(path):
    """Moving stripes with noise, YUV 4:2:0."""
    source = random.Random(1)
    rows = [bytes(int(128 + 60 * math.sin(x / 9 + t / 3) +
                      source.randrange(40)) & 255 for x in range(WIDTH))
            for t in range(HEIGHT + FRAMES)]
    with open(path, "wb") as file:
        for t in range(FRAMES):
            file.write(b"".join(rows[t:t + HEIGHT]))
            file.write(bytes([128]) * (WIDTH * HEIGHT // 2))


def write_picture(path):
    width, height = 1600, 1200
    with open(path, "wb") as file:
        file.write(b"P6 %d %d 255\n" % (width, height))
        row = random.Random(1).randbytes(3 * width)
        file.write(row * height)


class EC01AssemblerTest(harness.Case):
    """At least 95 % of the samples in such a library reach the root; those that
    had to be guessed say so."""

    FREQUENCY = 4000

    def check(self, argv, library, least_guessed):
        path = os.path.join(self.dir, "record.pb.gz")
        run = subprocess.run(
            [harness.UNSPOOL, "record", "-o", path, "-F", str(self.FREQUENCY),
             "--", *argv], capture_output=True, text=True,
            timeout=harness.RUN_TIMEOUT_SECONDS)
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = pprof_decode.load(path)
        samples = rooted = guessed = 0
        for sample in profile.samples:
            if harness.is_pseudo(sample) or not sample.frames[
                    0].module.startswith(library):
                continue
            count = harness.count(profile, sample)
            samples += count
            rooted += count * harness.is_rooted(sample)
            guessed += count * (sample.labels.get("unwind") == "guessed")
        self.assertGreaterEqual(samples, harness.ENOUGH_SAMPLES,
                                run.stderr)
        self.assertGreaterEqual(rooted / samples, 0.95)
        self.assertGreater(guessed / samples, least_guessed)

    def test_x265(self):
        video = os.path.join(self.dir, "in.yuv")
        write_video(video)
        self.check(["x265", "--log-level", "none", "--no-progress", "--input",
                    video, "--input-res", f"{WIDTH}x{HEIGHT}", "--fps", "24",
                    "-o", "/dev/null"], "libx265.so", 0.2)

    def test_libjpeg(self):
        picture = os.path.join(self.dir, "in.ppm")
        write_picture(picture)
        script = 'for i in $(seq 20); do cjpeg -outfile "$1" "$2" || exit; done'
        self.check(["sh", "-c", script, "sh",
                    os.path.join(self.dir, "out.jpg"), picture],
                   "libjpeg.so", 0.2)

    def test_dav1d(self):
        video = os.path.join(self.dir, "in.yuv")
        stream = os.path.join(self.dir, "in.ivf")
        write_video(video)
        subprocess.run(
            ["aomenc", "--quiet", "--cpu-used=6", "-w", str(WIDTH), "-h",
             str(HEIGHT), "--i420", "--ivf", "-o", stream, video], check=True,
            timeout=harness.RUN_TIMEOUT_SECONDS)
        script = ('for i in $(seq 60); do '
                  'dav1d -q -i "$1" --muxer null -o /dev/null || exit; done')
        self.check(["sh", "-c", script, "sh", stream], "libdav1d.so", 0.2)

    def test_nettle(self):
        script = "head -c 300000000 /dev/zero | nettle-hash -a sha256"
        self.check(["sh", "-c", script], "libnettle.so", 0.5)

    def test_gmp(self):
        self.check([harness.program("gmp_multiply")], "libgmp.so", 0.5)
