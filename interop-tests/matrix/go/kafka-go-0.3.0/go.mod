module keyroute/matrix/kafka-go-0.3.0

go 1.26.0

require (
	github.com/segmentio/kafka-go v0.3.0
	keyroute/matrix/job v0.0.0
)

replace keyroute/matrix/job => ../job
