"""A table as a clinic might have it, with its true classes."""

import numpy as np
import pyarrow as pa


def make_clinic(n=600, seed=0):
    """Age, BMI (some missing), sex, smoking and region; women are labelled three times as often as men."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.normal(50, 15, n).round(1), rng.normal(27, 5, n).round(2)
    sex, region = (
        rng.choice(["f", "m"], n, p=[0.55, 0.45]),
        rng.choice(["north", "south", "east"], n, p=[0.5, 0.3, 0.2]),
    )
    smoker = rng.random(n) < 0.3
    positive = rng.random(n) < 1 / (1 + np.exp(-(0.1 * (age - 50) + 0.2 * (bmi - 27) + smoker)))
    labelled = positive & (rng.random(n) < np.where(sex == "f", 0.6, 0.2))
    return pa.table(
        {
            "patient": [f"p{i}" for i in range(n)],
            "age": age,
            "sex": sex,
            "bmi": pa.array(bmi, mask=rng.random(n) < 0.1),
            "smoker": smoker,
            "region": pa.array(region, mask=rng.random(n) < 0.05),
            "reported": pa.array(np.where(labelled, "yes", "")),
        }
    ), positive
