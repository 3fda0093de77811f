import os, sys, glob
input_dir, output_dir, program_dir, submission_dir = [os.path.abspath(a) for a in sys.argv[1:5]]
assert input_dir == '/app/input_data', input_dir
assert output_dir == '/app/output' and program_dir == '/app/program' and submission_dir == '/app/ingested_program', sys.argv
assert os.getcwd() == '/app/program', os.getcwd()
assert os.environ['PYTHONUNBUFFERED'] == '1', os.environ
sys.path.append(submission_dir)
from model import model
m = model()
X = [[float(v) for v in l.split(',')] for l in open(os.path.join(input_dir, 'iris_test.data'))]
open(os.path.join(output_dir, 'iris_test.predict'), 'w').write('\n'.join(str(m.predict(x)) for x in X))
open(os.path.join(submission_dir, 'scribble'), 'w').write('x')
