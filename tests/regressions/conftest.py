from tests.few_trees import few_trees as few_trees
