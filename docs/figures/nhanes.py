"""The two tasks of the survey, by the counts of the catalogue: told, ill and not told, and not ill."""

from propense.datasets.nhanes_table import TASKS


def draw():
    """The figure."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(7.2, 2.2))
    names = {"diabetes": "diabetes", "hypertension": "high blood pressure"}
    for place, task in enumerate(TASKS.values()):
        parts = [
            ("told by a doctor (labelled)", task.labelled, "C0", 1.0),
            ("ill and not told (hidden)", task.positives - task.labelled, "C1", 1.0),
            ("not ill", task.n - task.positives, "C6", 0.3),
        ]
        left = 0
        for words, count, colour, alpha in parts:
            ax.barh(place, count, left=left, color=colour, alpha=alpha, label=words if place == 0 else None)
            left += count
        hidden = task.positives - task.labelled
        ax.text(task.positives + 250, place, f"{hidden:,} of {task.positives:,} ill people were not told", va="center")
    ax.set(yticks=range(len(TASKS)), xlabel="people")
    ax.set_yticklabels([names[name] for name in TASKS])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
