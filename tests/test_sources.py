"""What a job reruns for, and the house rules: who may know whom, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from learnability import claims, figures, learners, sources, teachers
from learnability.schema.learners import NetworkBase

ROOT = Path(__file__).parents[1]
MODULES = sorted(sources.PACKAGE.rglob("*.py"))
NETWORKS = NetworkBase.model_fields["network"].annotation.__args__
HEAVY = {"torch", "lightning"}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(sources.PACKAGE).with_suffix("").parts)


def imported(path: Path, everywhere: bool = True) -> set[str]:
    """Modules that a file imports, at its top level or also inside functions."""
    tree = ast.parse(path.read_text())
    found: set[str] = set()
    for node in ast.walk(tree) if everywhere else tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def short(paths: list[str]) -> set[str]:
    return {name_of(Path(path)) for path in paths}


def of_training(network: str) -> set[str]:
    """What the rule names for a job that trains ``network`` by SGD."""
    teacher = teachers.module_of("parity_composite")
    modules = ("verbs.train", "verbs.part", "training.fit", learners.module_of(network), teacher)
    return short(sources.closure(*modules))


def test_light_verbs_depend_on_no_module_that_imports_torch():
    for claim in claims.available():
        judge = sources.closure("verbs.judge", claims.module_of(claim))
        figure = sources.closure("verbs.figure", figures.module_of(claim))
        for path in {*judge, *figure, *sources.closure("verbs.evaluate", "verbs.ledger")}:
            roots = {name.split(".")[0] for name in imported(Path(path), everywhere=False)}
            assert not roots & HEAVY, path


def test_claims_and_figures_load_without_torch():
    modules = [claims.module_of(c) for c in claims.available()]
    modules += [figures.module_of(c) for c in claims.available()]
    modules += ["verbs.judge", "verbs.figure", "verbs.evaluate", "verbs.ledger", "config", "plan"]
    lines = [f"import learnability.{module}" for module in modules]
    code = "; ".join([*lines, "import sys", f"print(sorted({HEAVY} & set(sys.modules)))"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@pytest.mark.parametrize("network", NETWORKS)
def test_a_networks_module_is_in_its_own_jobs_only(network):
    mine = learners.module_of(network)
    assert [other for other in NETWORKS if mine in of_training(other)] == [network]


def test_training_depends_on_its_verb_its_teacher_and_its_training():
    found = of_training("layer2")
    assert {"verbs.train", "verbs.part", "verbs.sample", "training.fit", "training.stack"} <= found
    assert {"teachers.parity", "learners.base", "artifacts", "seeding"} <= found
    assert not {name.split(".")[0] for name in found} & {
        "claims",
        "figures",
        "cli",
        "config",
        "plan",
    }


LATE = ("verbs.part", "training.fit", "training.closed_form", "learners.linearised", "training.kernel_ridge",
        "training.minimal_norm", "verbs.dense", "training.dense_fit", "training.polynomial2", "verbs.logistic",
        "verbs.two_phases", "verbs.margins")  # fmt: skip


@pytest.mark.parametrize("verb", ["train", "part", "dense", "logistic", "two_phases", "margins"])
def test_what_the_train_verb_imports_late_is_named_by_the_rule(verb):
    """An import in a function is not followed: the rule must name its module."""
    path = sources.PACKAGE / f"verbs/{verb}.py"
    rules = (ROOT / "workflow/rules/common.smk").read_text()
    reached = short(sources.closure(*LATE))
    for module in imported(path) - imported(path, everywhere=False):
        path = sources._file(module)
        if path is not None and path.name == "__init__.py" and len(ast.parse(path.read_text()).body) == 1:
            continue  # a docstring
        assert path is None or name_of(path) in reached, module
    assert all(f'"{module}"' in rules for module in LATE)


def test_a_kernel_depends_on_no_network_and_a_network_on_no_analytic_kernel():
    teacher = teachers.module_of("parity_composite")
    kernel = short(sources.closure("verbs.train", "verbs.part", "training.kernel_ridge", teacher))
    assert {"kernels.analytic", "kernels.infinite_width", "kernels.hypercube"} <= kernel
    assert not {learners.module_of(network) for network in NETWORKS} & kernel
    assert not {name for name in of_training("layer2") if name.startswith("kernels.")}
    by_hand = short(sources.closure("verbs.train", "verbs.part", "training.minimal_norm", teacher))
    assert {"theory.minimal_norm", "learners.signed2"} <= by_hand


def test_a_module_named_like_a_router_elsewhere_still_counts(tmp_path, monkeypatch):
    (tmp_path / "learners").mkdir()
    (tmp_path / "learners/plan.py").write_text("import learnability.plan\n")
    (tmp_path / "plan.py").write_text("")
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    assert sources.closure("learners.plan") == [str(tmp_path / "learners/plan.py")]


def test_closures_miss_nothing():
    """Imports that ``closure`` does not see: relative ones, and code in a package's own file."""
    for path in MODULES:
        tree = ast.parse(path.read_text())
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.level], path
        for block in [n for n in tree.body if isinstance(n, ast.If | ast.Try | ast.With)]:
            names = [n for n in ast.walk(block) if isinstance(n, ast.Import | ast.ImportFrom)]
            typing_only = isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
            assert typing_only or not any("learnability" in ast.unparse(n) for n in names), path


@pytest.mark.parametrize("package", ["theory", "teachers", "learners", "kernels"])
def test_mathematics_knows_nothing_of_the_pipeline(package):
    pipeline = {"config", "schema", "plan", "verbs", "cli", "tracking", "sources", "artifacts"}
    pipeline |= {"claims", "figures", "training"}
    for path in (sources.PACKAGE / package).rglob("*.py"):
        ours = {name.split(".")[1] for name in imported(path) if name.startswith("learnability.")}
        assert not ours & pipeline, path
        assert not {name.split(".")[0] for name in imported(path)} & {"lightning", "wandb"}, path


@pytest.mark.parametrize("package", ["claims", "figures"])
def test_claims_and_figures_know_tables_only(package):
    for path in (sources.PACKAGE / package).rglob("*.py"):
        names = imported(path)
        ours = {name.split(".")[1] for name in names if name.startswith("learnability.")}
        assert ours <= {"artifacts", "claims", "figures", "schema", "theory"}, path
        assert not {name.split(".")[0] for name in names} & (HEAVY | {"wandb"}), path


def test_only_tracking_knows_wandb():
    knows = {name_of(p) for p in MODULES if "wandb" in {n.split(".")[0] for n in imported(p)}}
    assert knows == {"tracking"}


def test_only_cli_and_plan_spell_result_paths():
    """Every other module is handed its paths."""
    spell = set()
    for path in MODULES:
        texts = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
        paths = [t for t in texts if isinstance(t, str) and "\n" not in t and "results" in t.split("/")]
        spell |= {name_of(path)} if paths else set()
    assert spell <= {"plan", "cli"} | {name for name in spell if name.startswith("bench")}


def test_no_pickle():
    for path in MODULES:
        roots = {name.split(".")[0] for name in imported(path)}
        assert not roots & {"pickle", "cloudpickle", "dill", "joblib", "shelve"}, path
        text = path.read_text()
        assert "torch.load(" not in text and "torch.save(" not in text and "to_pickle" not in text, path


def test_files_stay_short():
    files = [*MODULES, *(ROOT / "workflow").rglob("*.smk"), ROOT / "Snakefile"]
    long = {p.name: n for p in files if (n := len(p.read_text().splitlines())) > 300}
    assert not long
