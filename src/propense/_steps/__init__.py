"""The steps that several methods take: predictors, learners, spies, EM rounds, known negatives."""
