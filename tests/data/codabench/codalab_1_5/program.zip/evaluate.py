import sys, os, os.path
input_dir = sys.argv[1]
output_dir = sys.argv[2]
submit_dir = os.path.join(input_dir, 'res')
truth_dir = os.path.join(input_dir, 'ref')
if not os.path.exists(output_dir): os.makedirs(output_dir)
truth = float(open(os.path.join(truth_dir, "truth.txt")).read())
answer = float(open(os.path.join(submit_dir, "answer.txt")).read())
with open(os.path.join(output_dir, 'scores.txt'), 'w') as f:
    f.write("Difference:%f\n" % abs(truth - answer))
    f.write("Correct:%d\n" % (truth == answer))
