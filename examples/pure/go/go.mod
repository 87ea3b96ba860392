module keyroute

go 1.19
