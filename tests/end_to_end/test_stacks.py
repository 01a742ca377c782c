"""Stacks that other profilers get wrong; each case says what is right."""

import os
import subprocess

import harness
import pprof_decode


def root_first(sample):
    return sample.names[::-1]


def with_leaf(profile, *names):
    return [sample for sample in profile.samples if sample.names[0] in names]


class EC13StubsTest(harness.Case):
    """Samples in a stub are named after what it calls; those in a stub and in
    what binds it are rooted."""

    def test_stubs_and_resolver(self):
        run = self.record([harness.program("plt_calls"),
                           harness.program("libplt_caller.so")])
        stub = with_leaf(run.profile, "call_00@plt")
        self.assertTrue(stub, run.profile.functions)
        callers = [["main", "call_stub"], ["bind_stubs", "call_all"]]
        self.assert_all(stub, lambda sample: root_first(sample)[-3:-1]
                        in callers, "called by what calls it")
        binding = [sample for sample in run.profile.samples
                   if any("_dl_runtime_resolve" in name
                          for name in sample.names)]
        self.assertTrue(binding)
        self.assert_all(binding, lambda sample: "call_all" in sample.names,
                        "called by call_all")
        self.assert_all(stub + binding, harness.is_rooted, "rooted")


class EC08ScratchRegistersTest(harness.Case):
    """libcrypto's assembly finds its frames by registers that nobody has to
    keep; where that is a guess, it is labelled."""

    def samples_of(self, *speed_arguments):
        """Those in libcrypto: [(count, sample)]."""
        path = os.path.join(self.dir, "record.pb.gz")
        subprocess.run(
            [harness.UNSPOOL, "record", "-o", path, "-F", "4000", "--",
             "openssl", "speed", "-seconds", "1", *speed_arguments], check=True,
            capture_output=True, timeout=harness.RUN_TIMEOUT_SECONDS)
        profile = pprof_decode.load(path)
        inside = [sample for sample in profile.samples
                  if sample.frames[0].module.startswith("libcrypto")]
        self.assert_sampled(profile, inside)
        self.assert_all(inside, harness.is_rooted, "rooted")
        return [(harness.count(profile, sample), sample) for sample in inside]

    def test_rsa_signatures(self):
        self.samples_of("rsa2048")

    def test_aes_gcm(self):
        samples = self.samples_of("-bytes", "16384", "-evp", "aes-256-gcm")
        self.assert_all([sample for _, sample in samples], lambda sample: any(
            frame.module.startswith("openssl") for frame in sample.frames),
            "called by openssl")
        # Where encryption and GHASH are one loop, most of the time is there.
        guessed = sum(count for count, sample in samples
                      if sample.labels.get("unwind") == "guessed")
        self.assertGreater(guessed, 0.5 * sum(count for count, _ in samples))


class ST01LibcCallbacksTest(harness.Case):
    """Callbacks that libc calls show the caller below libc, with and without
    frame pointers in the program, and the tree is the same."""

    CHAINS = {  # callback -> what is outside of libc's own frames
        "QsortCallback": "CallQsort", "SortCallback": "CallSort",
        "OnceCallback": "CallOnce"}

    def chains(self, name):
        """{callback: {stack as names, root first}}, all of them checked."""
        run = self.record([harness.program(name), "4"])
        result = {}
        for callback, caller in self.CHAINS.items():
            right = wrong = 0
            for sample in run.profile.samples:
                names = [plain(frame) for frame in root_first(sample)]
                if names[-1] != callback:
                    continue
                counted = harness.count(run.profile, sample)
                if (harness.is_rooted(sample) and "main" in names and
                        names.index("main") + 1 == names.index(caller)):
                    right += counted
                    result.setdefault(callback, set()).add(tuple(names))
                else:
                    wrong += counted
            self.assertGreaterEqual(right, harness.ENOUGH_SAMPLES, callback)
            self.assertGreaterEqual(right / (right + wrong), 0.995, callback)
        for chain in result["QsortCallback"]:
            between = chain[chain.index("CallQsort") + 1:-1]
            self.assertTrue(any("qsort" in name for name in between), between)
        return result

    def test_both_builds_give_the_same_tree(self):
        without, with_frame_pointers = (
            self.chains(name) for name in ("libc_callbacks",
                                           "libc_callbacks_fp"))
        # std::sort recurses by the data, which is the same in both.
        for callback in ("QsortCallback", "OnceCallback"):
            self.assertEqual(without[callback], with_frame_pointers[callback])


def plain(frame):
    """The name without namespace and parameters."""
    return frame.replace("(anonymous namespace)::", "").split("(")[0]


class ST02TinyLeafTest(harness.Case):
    """tiny's caller is mid, in its prologue and epilogue too."""

    def check(self, name):
        argv = [harness.program(name), "1500"]
        run = self.record(argv)
        samples = with_leaf(run.profile, "tiny")
        self.assert_sampled(run.profile, samples)
        self.assert_all(samples, lambda sample: root_first(sample)[-3:] ==
                        ["main", "mid", "tiny"], "main -> mid -> tiny")
        self.assert_all(with_leaf(run.profile, "mid"),
                        lambda sample: root_first(sample)[-2:] ==
                        ["main", "mid"], "main -> mid")

    def test_unoptimized(self):
        self.check("tiny_leaf_O0")

    def test_optimized(self):
        self.check("tiny_leaf_O2")


class ST03DeepFramesTest(harness.Case):
    """800 KB of stack between the leaf and main: all of it is walked."""

    def test_every_sample_is_rooted_with_all_200_frames(self):
        run = self.record([harness.program("deep_frames"), "2"])
        samples = with_leaf(run.profile, "spin_at_bottom")
        self.assert_sampled(run.profile, samples)
        self.assert_all(samples, harness.is_rooted, "rooted")
        self.assert_all(samples,
                        lambda sample: sample.names.count("recurse") == 200,
                        "200 frames of recurse")
        self.assert_all(samples, lambda sample: "main" in sample.names, "main")


class ST04ReturnAddressInARegisterTest(harness.Case):
    """longjmp and vfork: their callers, whichever instruction it is. A longjmp
    that has loaded the registers belongs to where it goes."""

    CALLERS = {"longjmp": {"jump_back", "jump_loop"},
               "vfork": {"start_child"}}

    def test_callers_are_right(self):
        run = self.record([harness.program("jump_loops"), "1.5"])
        self.assert_all([sample for sample in run.profile.samples
                         if not harness.is_pseudo(sample)],
                        harness.is_rooted, "rooted")
        for function, callers in self.CALLERS.items():
            samples = [sample for sample in run.profile.samples
                       if any(function in name for name in sample.names)]
            self.assert_sampled(run.profile, samples, function)
            self.assert_all(samples, lambda sample: self.caller_of(
                function, root_first(sample)) in callers, callers)

    @staticmethod
    def caller_of(function, names):
        inside = [function in name for name in names]
        return names[inside.index(True) - 1]


class ST05CallAtTheEndTest(harness.Case):
    """A return address behind the last byte of its function."""

    def test_die_last_main(self):
        run = self.record([harness.program("noreturn_call"), "2"])
        symbols = subprocess.run(
            ["nm", "-n", harness.program("noreturn_call")],
            capture_output=True, text=True, check=True).stdout.split()
        # The case is only there if the next function follows at once.
        self.assertEqual(symbols[symbols.index("last") + 3], "decoy")
        samples = with_leaf(run.profile, "die")
        self.assert_sampled(run.profile, samples)
        self.assert_all(samples, lambda sample: root_first(sample)[-3:] ==
                        ["main", "last", "die"], "main -> last -> die")
        self.assert_all(samples, harness.is_rooted, "rooted")


class CR01EpilogueCfiTest(harness.Case):
    """CFI that is wrong by one word for a few instructions leads to words that
    pass for callers: they are in no stack. What the code itself tells is right
    and labelled, other stacks are cut, and say so."""

    def test_no_false_caller(self):
        run = self.record([harness.program("epilogue_cfi")])
        self.assert_all(run.profile.samples, lambda sample:
                        "never_called" not in sample.names, "no false caller")
        add, push = (with_leaf(run.profile, leaf) for leaf in
                     ("spin_behind_add", "spin_behind_push"))
        for samples in (add, push):
            self.assert_sampled(run.profile, samples)
        self.assert_all(add, lambda sample: root_first(sample)[-3:] ==
                        ["main", "call_spin_behind_add", "spin_behind_add"],
                        "called by call_spin_behind_add")
        self.assert_all(add, harness.is_rooted, "rooted")
        self.assert_all(add, lambda sample: sample.labels.get("unwind") ==
                        "guessed", "labelled")
        self.assert_all(push, lambda sample: sample.names == [
            "spin_behind_push", "[truncated: bad-cfi]"], "cut")


class EC07RealignedStackTest(harness.Case):
    """A CFA that an expression reads from memory (DRAP)."""

    def test_full_stacks_through_realigned_frames(self):
        frames = subprocess.run(
            ["readelf", "--debug-dump=frames", harness.program("realigned")],
            capture_output=True, text=True, check=True).stdout
        self.assertIn("DW_CFA_def_cfa_expression (DW_OP_breg6 (rbp): -", frames)
        run = self.record([harness.program("realigned"), "2"])
        samples = [sample for sample in run.profile.samples
                   if "realigned_leaf" in sample.names]
        self.assert_sampled(run.profile, samples)
        self.assert_all(samples, harness.is_rooted, "rooted")
        chains = {tuple(names[names.index("main"):names.index(
            "realigned_leaf") + 1]) for names in map(root_first, samples)}
        self.assertEqual(chains, {
            ("main", "realigned_outer", "realigned_leaf"),
            ("main", "realigned_outer", "realigned_middle", "realigned_leaf")})


class EC10RulesByExpressionTest(harness.Case):
    """rbp, r12 and r14 all restored by expressions on rbp: each of the callers
    is found only if one of them was recovered right."""

    CHAIN = ["main", "keeper_r14", "keeper_r12", "keeper_rbp",
             "saves_by_expression", "expression_leaf"]

    def test_registers_are_recovered_from_the_old_set(self):
        run = self.record([harness.program("expression_main"), "2"])
        samples = with_leaf(run.profile, "expression_leaf")
        self.assert_sampled(run.profile, samples)
        self.assert_all(samples,
                        lambda sample: root_first(sample)[-6:] == self.CHAIN,
                        " -> ".join(self.CHAIN))
        self.assert_all(samples, harness.is_rooted, "rooted")
