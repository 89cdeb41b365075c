# Makes a small Git repository: sh repository.sh FOLDER
set -e
git init -q -b main "$1" && cd "$1"
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
mkdir docs src tests
printf '# Orchard\n\nPlans the work of an orchard.\n' > README.md
printf 'def prune(tree):\n    return tree\n' > src/prune.py
printf 'Read the plan first.\n' > docs/plan.txt
git add . && git commit -qm "Plan the orchard"
for word in water harvest press store sell; do
  printf 'def %s(count):\n    """Returns what is left."""\n    return count - 1\n' $word > src/$word.py
  printf 'def test_%s():\n    assert True\n' $word > tests/test_$word.py
  git add . && git commit -qm "Add $word with its test"
done
git tag v1.0 && git branch winter
