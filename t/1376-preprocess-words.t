#!/bin/sh
test_description='preprocessors of words and texts: the same state and rows on any number of workers'
. "$(dirname "$0")/setup.sh"

run="raytrain-run --launcher local --storage runs"
train=$modules/train_rows.so

# 3 files of 59 rows, one of them compressed: a number, words of which some are missing and
# some are in one file only, and a text of several words.
"$PYTHON" - <<\EOT
import gzip

cities = ["Oslo", "Paris", "Rome", "Quito", "Lima"]
words = "the a quick brown fox jumps over lazy dog".split()
for f in range(3):
    text = "id,city,kind,note\n"
    for i in range(59 * f, 59 * f + 59):
        city = "" if i % 11 == 3 else "only-%d" % f if i % 29 == 0 else cities[i * i % 5]
        note = " ".join(words[(i * k + f) % 9] for k in range(1, 2 + i % 6))
        text += "%d,%s,%s,%s\n" % (i, city, "xyz"[i % 7 % 3], note)
    if f == 1:
        gzip.open("d-1.csv.gz", "wt").write(text)
    else:
        open("d-%d.csv" % f, "w").write(text)
with open("lines.txt", "w") as out:
    for i in range(101):
        out.write(" ".join(words[i * k % 9] for k in range(1, 2 + i % 5)) + "\n")
EOT
cat >csv.cfg <<\EOT
datasets = { train = { path = "d-*"; types = { note = "text"; }; }; };
preprocessor = (
    { simple_imputer = { columns = ["city"]; strategy = "most_frequent"; }; },
    { categorizer = { columns = ["kind"]; }; },
    { ordinal_encoder = { columns = ["city"]; output_columns = ["place"]; dtype = "int64"; }; },
    { one_hot_encoder = { columns = ["city"]; output_columns = ["hot"];
                          max_categories = { city = 3; }; }; },
    { tokenizer = { columns = ["note"]; output_columns = ["tokens"]; }; },
    { multi_hot_encoder = { columns = ["tokens"]; output_columns = ["bag"]; }; },
    { count_vectorizer = { columns = ["note"]; output_columns = ["counts"]; max_features = 5; }; },
    { hashing_vectorizer = { columns = ["note"]; output_columns = ["hashes"];
                             num_features = 16; }; }
);
EOT
cat >lines.cfg <<\EOT
datasets = { train = { path = "lines.txt"; }; };
preprocessor = (
    { count_vectorizer = { columns = ["text"]; output_columns = ["counts"]; }; },
    { hashing_vectorizer = { columns = ["text"]; output_columns = ["hashes"];
                             num_features = 7; }; },
    { tokenizer = { columns = ["text"]; }; },
    { multi_hot_encoder = { columns = ["text"]; }; }
);
EOT
columns="id city kind place hot bag counts hashes"
# state CHECKPOINT: what preprocessors have learned.
state () {
	h5dump -g /raytrain/preprocessor "$1" | sed 1d
}
# gathered PREFIX: the rows that all workers have written, in an order of their own.
gathered () {
	cat "$1".[0-9] | sort
}
for n in 1 2 3; do
	test_expect_success "$n worker(s) learn from words and texts of CSV files, and encode them" '
		$run -n $n --name csv-$n -c csv.cfg "$train" csv-$n train $columns 2>err &&
		state runs/csv-$n/checkpoint_000001.h5 >csv-state-$n && gathered csv-$n >csv-rows-$n &&
		test "$(wc -l <csv-rows-$n)" = 177 && test_cmp csv-state-1 csv-state-$n &&
		test_cmp csv-rows-1 csv-rows-$n
	'
	test_expect_success "$n worker(s) learn from lines of text, and encode them" '
		$run -n $n --name lines-$n -c lines.cfg "$train" lines-$n train counts hashes text \
			2>err &&
		state runs/lines-$n/checkpoint_000001.h5 >lines-state-$n &&
		gathered lines-$n >lines-rows-$n && test "$(wc -l <lines-rows-$n)" = 101 &&
		test_cmp lines-state-1 lines-state-$n && test_cmp lines-rows-1 lines-rows-$n
	'
done
test_expect_success 'the encoded rows are what the words and texts are' '
	cat >check.py <<-\EOF &&
	cities = ["Oslo", "Paris", "Rome", "Quito", "Lima"]
	words = "the a quick brown fox jumps over lazy dog".split()
	def city_of(i):
	    return "" if i % 11 == 3 else "only-%d" % (i // 59) if i % 29 == 0 else cities[i * i % 5]
	def note_of(i):
	    return [words[(i * k + i // 59) % 9] for k in range(1, 2 + i % 6)]
	seen = [city_of(i) for i in range(177)]
	count = {c: seen.count(c) for c in seen if c}
	common = max(sorted(count), key=lambda c: count[c])
	seen = [c or common for c in seen]
	places = sorted(set(seen))
	best = sorted(sorted(set(seen)), key=lambda c: -seen.count(c))[:3]
	rows = [dict(f.split("=") for f in line.split(" ")) for line in open("csv-rows-1")]
	assert sorted(int(r["id"]) for r in rows) == list(range(177))
	for r in rows:
	    i = int(r["id"])
	    assert int(r["place"]) == places.index(seen[i]), r
	    assert int(r["kind"]) == i % 7 % 3, r
	    assert r["hot"].count("1") == (seen[i] in best), (r, best)
	    assert r["bag"] == ",".join(str(int(w in note_of(i))) for w in sorted(words)), r
	    if r["hashes"]:
	        assert sum(float(h.split(":")[1]) for h in r["hashes"].split(",")) == len(note_of(i)), r
	EOF
	"$PYTHON" check.py
'
test_expect_success 'a run that continues with another number of workers has the same state, and the same rows' '
	$run -n 2 --name csv-3 --resume -c csv.cfg "$train" again train $columns 2>err &&
	grep "preprocessors are those of the checkpoint" err &&
	state runs/csv-3/checkpoint_000002.h5 >again-state && test_cmp csv-state-1 again-state &&
	gathered again >again-rows && test_cmp csv-rows-1 again-rows
'
test_done
