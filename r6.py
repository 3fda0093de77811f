from bot import *
r = Bot("robby", "pw-robby"); o = Bot("olga","pw-olga")
show(r.get("/api/submissions/34/").json())
d=o.get("/api/submissions/34/get_details/").json(); print([ (l["name"], requests.get(l["data_file"]).text[:300]) for l in d["logs"]])
