import os, sys
# python scoring program: input has res and ref
input_dir, output_dir = sys.argv[1], sys.argv[2]
sol = open(os.path.join(input_dir, 'ref', 'iris_test.solution')).read().split()
pred = open(os.path.join(input_dir, 'res', 'iris_test.predict')).read().split()
assert len(sol) == len(pred), 'Prediction shape={} instead of Solution shape={}'.format(len(pred), len(sol))
acc = sum(a == b for a, b in zip(sol, pred)) / len(sol)
meta = dict(l.split(':') for l in open(os.path.join(input_dir, 'res', 'metadata')).read().strip().splitlines())
print(meta)
open(os.path.join(output_dir, 'scores.txt'), 'w').write('prediction_score: %f\nDuration: %f\n' % (acc, float(meta['elapsedTime'])))
open(os.path.join(output_dir, 'scores.html'), 'w').write('<h1>Details</h1><script>document.title="x"</script>')
