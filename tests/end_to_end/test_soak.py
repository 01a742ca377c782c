"""The storms of scripts/soak in short: some seconds each, under `unspool record`
and preloaded, at 4000 Hz with whatever engine `auto` chooses."""

import harness
import storms


class Soak:
    SECONDS = 4

    def check(self, name):
        storm = storms.STORMS[name]
        self.assertEqual(storm.missing(), "")
        for variant in storms.VARIANTS:
            with self.subTest(variant):
                outcome = storms.run(storm, variant, self.SECONDS)
                self.assertEqual(outcome.problems(), [], outcome)
                self.assertGreater(outcome.work, 100)


class SoakThrowDlopenTest(harness.Case, Soak):
    def test_short(self):
        self.check("throw-dlopen")


class SoakThreadChurnTest(harness.Case, Soak):
    def test_short(self):
        self.check("thread-churn")


class SoakRedisTest(harness.Case, Soak):
    def test_short(self):
        self.check("redis")


class SoakProcessChurnTest(harness.Case, Soak):
    def test_short(self):
        self.check("process-churn")


class SoakNginxTest(harness.Case, Soak):
    def test_short(self):
        self.check("nginx")


class SoakPostgresTest(harness.Case, Soak):
    def test_short(self):
        self.check("postgres")
