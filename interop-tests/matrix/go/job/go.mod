module keyroute/matrix/job

go 1.26.0
