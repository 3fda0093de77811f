import sys; sys.path.insert(0, '/app/ingested_program')
import sub
open('/app/output/v.out', 'w').write(str(sub.f(float(open('/app/input_data/v.txt').read()))))
