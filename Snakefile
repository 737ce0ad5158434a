# The whole chain on one screen:
#
#   config -> sample -> train -> evaluate -> judge, figure -> ledger -> report
#
# Any file under results/<scale>/ is a target; a claim's is results/laptop/verdicts/<claim>.json.

from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"


report: f"results/{SCALE}/ledger.rst"


include: "workflow/rules/sample.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/claim.smk"
include: "workflow/rules/ledger.smk"


rule all:
    default_target: True
    input:
        measurements_of(SCALE),
        f"results/{SCALE}/report.html",


rule measurements:
    input:
        measurements_of(SCALE),
        f"results/{SCALE}/ledger.csv",


onstart:
    # Jobs that run here share one warm interpreter instead of importing torch each.
    os.environ[warm.VARIABLE] = warm.start()


onerror:
    # What went wrong is visible in the ledger too; a later run replaces it.
    shell(f"python -m learnability ledger --partial --scale {SCALE}")
